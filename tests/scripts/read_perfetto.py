#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace by the schema that Perfetto publishes (Python package perfetto) and counts what is in it.

Usage: read_perfetto.py TRACE --slices N --flows N --counters N. Exit status 1 where something is unknown to the schema,
unbalanced, or of another number.
"""

import argparse
import collections
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def unknown_fields(message):
    """Whether the message, or one inside of it, has fields that the schema does not know."""
    # What a round trip without unknown fields loses.
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return copy.SerializeToString() != message.SerializeToString()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    for what in ("slices", "flows", "counters"):
        parser.add_argument("--" + what, type=int, required=True)
    wanted = parser.parse_args()
    trace = proto.Trace()
    with open(wanted.trace, "rb") as file:
        trace.ParseFromString(file.read())
    assert not unknown_fields(trace), "fields that the schema does not know"
    depth, names, tracks = collections.Counter(), {}, {}
    found = collections.Counter()
    flows, ends = set(), set()
    for packet in trace.packet:
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            tracks[track.uuid] = track
            found["counters"] += track.HasField("counter")
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks, "an event on no track"
        if event.type == event.TYPE_SLICE_BEGIN:
            assert names[event.name_iid], "a slice without a name"
            depth[event.track_uuid] += 1
            found["slices"] += 1
        elif event.type == event.TYPE_SLICE_END:
            depth[event.track_uuid] -= 1
            assert depth[event.track_uuid] >= 0, "an end without a beginning"
        else:
            assert event.type == event.TYPE_COUNTER and tracks[event.track_uuid].HasField("counter")
        flows.update(event.flow_ids)
        ends.update(event.terminating_flow_ids)
    assert not +depth, "slices that do not end"
    assert flows == ends, "flows without an end"
    found["flows"] = len(flows)
    for track in tracks.values():
        assert not track.parent_uuid or track.parent_uuid in tracks, "a track without its parent"
    for what in ("slices", "flows"):
        if found[what] != getattr(wanted, what):
            sys.exit(f"{found[what]} {what}, not {getattr(wanted, what)}")
    if found["counters"] < wanted.counters:
        sys.exit(f"{found['counters']} counters, fewer than {wanted.counters}")


if __name__ == "__main__":
    main()
