// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/software_raster.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lanescope::gui {
namespace {

struct Texture {
  const uint8_t* rgba = nullptr;
  int width = 0, height = 0;

  // Nearest texel; the atlas is drawn at its own size.
  const uint8_t* At(float u, float v) const {
    const int x = std::clamp(static_cast<int>(u * static_cast<float>(width)), 0, width - 1);
    const int y = std::clamp(static_cast<int>(v * static_cast<float>(height)), 0, height - 1);
    return rgba + (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 4;
  }
};

// Pixels [x0, x1) x [y0, y1).
struct Clip {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct Colour {
  float r = 0, g = 0, b = 0, a = 0;  // 0 to 255
};

Colour Unpack(ImU32 c) {
  return {
      static_cast<float>((c >> IM_COL32_R_SHIFT) & 255), static_cast<float>((c >> IM_COL32_G_SHIFT) & 255),
      static_cast<float>((c >> IM_COL32_B_SHIFT) & 255), static_cast<float>((c >> IM_COL32_A_SHIFT) & 255)};
}

int Multiply(int a, int b) { return (a * b + 127) / 255; }

void Blend(uint8_t* pixel, int r, int g, int b, int a) {
  if (a <= 0) return;
  if (a >= 255) {
    pixel[0] = static_cast<uint8_t>(r);
    pixel[1] = static_cast<uint8_t>(g);
    pixel[2] = static_cast<uint8_t>(b);
    return;
  }
  const int rest = 255 - a;
  pixel[0] = static_cast<uint8_t>((r * a + pixel[0] * rest + 127) / 255);
  pixel[1] = static_cast<uint8_t>((g * a + pixel[1] * rest + 127) / 255);
  pixel[2] = static_cast<uint8_t>((b * a + pixel[2] * rest + 127) / 255);
}

void BlendTexel(uint8_t* pixel, const Colour& colour, const uint8_t* texel) {
  Blend(pixel, Multiply(static_cast<int>(colour.r + 0.5f), texel[0]),
        Multiply(static_cast<int>(colour.g + 0.5f), texel[1]),
        Multiply(static_cast<int>(colour.b + 0.5f), texel[2]),
        Multiply(static_cast<int>(colour.a + 0.5f), texel[3]));
}

// First pixel whose centre is at or right of `edge`.
int FirstPixel(float edge) { return static_cast<int>(std::ceil(edge - 0.5f)); }

// Draws the two triangles at `v` in one go if they are an axis-parallel rectangle of one colour, in the order
// in which ImGui's PrimRect emits it: corners a, b, c, d clockwise as (a b c) (a c d).
bool DrawRectangle(Image* image, const Clip& clip, const Texture& texture, const ImDrawVert* vertices,
                   const ImDrawIdx* index) {
  if (index[0] != index[3] || index[2] != index[4]) return false;
  const ImDrawVert &a = vertices[index[0]], &b = vertices[index[1]], &c = vertices[index[2]],
                   &d = vertices[index[5]];
  if (a.pos.y != b.pos.y || b.pos.x != c.pos.x || c.pos.y != d.pos.y || d.pos.x != a.pos.x) return false;
  if (a.col != b.col || a.col != c.col || a.col != d.col || !(a.pos.x < c.pos.x) || !(a.pos.y < c.pos.y)) {
    return false;
  }
  const int x0 = std::max(FirstPixel(a.pos.x), clip.x0), x1 = std::min(FirstPixel(c.pos.x), clip.x1);
  const int y0 = std::max(FirstPixel(a.pos.y), clip.y0), y1 = std::min(FirstPixel(c.pos.y), clip.y1);
  const Colour colour = Unpack(a.col);
  const float du = (c.uv.x - a.uv.x) / (c.pos.x - a.pos.x), dv = (c.uv.y - a.uv.y) / (c.pos.y - a.pos.y);
  for (int y = y0; y < y1; ++y) {
    const float v = a.uv.y + (static_cast<float>(y) + 0.5f - a.pos.y) * dv;
    for (int x = x0; x < x1; ++x) {
      const float u = a.uv.x + (static_cast<float>(x) + 0.5f - a.pos.x) * du;
      BlendTexel(image->pixel(x, y), colour, texture.At(u, v));
    }
  }
  return true;
}

double Edge(const ImVec2& a, const ImVec2& b, double x, double y) {
  return (double{b.x} - a.x) * (y - a.y) - (double{b.y} - a.y) * (x - a.x);
}

// With clockwise corners (y down), a top edge is level and goes right, a left edge goes up.
bool IsTopLeft(const ImVec2& a, const ImVec2& b) { return (a.y == b.y && b.x > a.x) || b.y < a.y; }

void DrawTriangle(Image* image, const Clip& clip, const Texture& texture, const ImDrawVert* a,
                  const ImDrawVert* b, const ImDrawVert* c) {
  double area = Edge(a->pos, b->pos, c->pos.x, c->pos.y);
  if (area < 0) {
    std::swap(b, c);
    area = -area;
  }
  if (!(area > 0)) return;
  const auto [left, right] = std::minmax({a->pos.x, b->pos.x, c->pos.x});
  const auto [top, bottom] = std::minmax({a->pos.y, b->pos.y, c->pos.y});
  const int x0 = std::max(FirstPixel(left), clip.x0), x1 = std::min(FirstPixel(right) + 1, clip.x1);
  const int y0 = std::max(FirstPixel(top), clip.y0), y1 = std::min(FirstPixel(bottom) + 1, clip.y1);
  const Colour ca = Unpack(a->col), cb = Unpack(b->col), cc = Unpack(c->col);
  const bool in_bc = IsTopLeft(b->pos, c->pos), in_ca = IsTopLeft(c->pos, a->pos),
             in_ab = IsTopLeft(a->pos, b->pos);
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      const double px = x + 0.5, py = y + 0.5;
      const double ea = Edge(b->pos, c->pos, px, py), eb = Edge(c->pos, a->pos, px, py),
                   ec = Edge(a->pos, b->pos, px, py);
      if (ea < 0 || eb < 0 || ec < 0) continue;
      if ((ea == 0 && !in_bc) || (eb == 0 && !in_ca) || (ec == 0 && !in_ab)) continue;
      const float wa = static_cast<float>(ea / area), wb = static_cast<float>(eb / area), wc = 1 - wa - wb;
      const Colour colour = {wa * ca.r + wb * cb.r + wc * cc.r, wa * ca.g + wb * cb.g + wc * cc.g,
                             wa * ca.b + wb * cb.b + wc * cc.b, wa * ca.a + wb * cb.a + wc * cc.a};
      BlendTexel(
          image->pixel(x, y), colour,
          texture.At(wa * a->uv.x + wb * b->uv.x + wc * c->uv.x, wa * a->uv.y + wb * b->uv.y + wc * c->uv.y));
    }
  }
}

Clip ClipOf(const ImDrawCmd& command, const ImDrawData& data, const Image& image) {
  const auto pixel = [](float edge, float origin, float scale, int limit) {
    return static_cast<int>(std::clamp((edge - origin) * scale, 0.0f, static_cast<float>(limit)));
  };
  const ImVec2 origin = data.DisplayPos, scale = data.FramebufferScale;
  return {pixel(command.ClipRect.x, origin.x, scale.x, image.width),
          pixel(command.ClipRect.y, origin.y, scale.y, image.height),
          pixel(command.ClipRect.z, origin.x, scale.x, image.width),
          pixel(command.ClipRect.w, origin.y, scale.y, image.height)};
}

// The vertices in pixels of the picture.
std::vector<ImDrawVert> InPixels(const ImDrawList& list, const ImDrawData& data) {
  std::vector<ImDrawVert> vertices(list.VtxBuffer.begin(), list.VtxBuffer.end());
  for (ImDrawVert& vertex : vertices) {
    vertex.pos.x = (vertex.pos.x - data.DisplayPos.x) * data.FramebufferScale.x;
    vertex.pos.y = (vertex.pos.y - data.DisplayPos.y) * data.FramebufferScale.y;
  }
  return vertices;
}

void DrawList(Image* image, const ImDrawList& list, const ImDrawData& data, const Texture& texture) {
  const std::vector<ImDrawVert> vertices = InPixels(list, data);
  for (const ImDrawCmd& command : list.CmdBuffer) {
    if (command.UserCallback != nullptr) continue;
    const Clip clip = ClipOf(command, data, *image);
    const ImDrawVert* vertex = vertices.data() + command.VtxOffset;
    const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
    for (unsigned i = 0; i + 3 <= command.ElemCount; i += 3) {
      if (i + 6 <= command.ElemCount && DrawRectangle(image, clip, texture, vertex, index + i)) {
        i += 3;
        continue;
      }
      DrawTriangle(image, clip, texture, &vertex[index[i]], &vertex[index[i + 1]], &vertex[index[i + 2]]);
    }
  }
}

}  // namespace

Image Rasterize(const ImDrawData& data, uint32_t background) {
  Image image(static_cast<int>(data.DisplaySize.x * data.FramebufferScale.x),
              static_cast<int>(data.DisplaySize.y * data.FramebufferScale.y));
  const Colour colour = Unpack(background);
  const uint8_t fill[4] = {static_cast<uint8_t>(colour.r), static_cast<uint8_t>(colour.g),
                           static_cast<uint8_t>(colour.b), 255};
  for (size_t i = 0; i < image.rgba.size(); i += 4) std::memcpy(&image.rgba[i], fill, 4);
  Texture texture;
  unsigned char* pixels = nullptr;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &texture.width, &texture.height);
  texture.rgba = pixels;
  for (int i = 0; i < data.CmdListsCount; ++i) DrawList(&image, *data.CmdLists[i], data, texture);
  return image;
}

}  // namespace lanescope::gui
