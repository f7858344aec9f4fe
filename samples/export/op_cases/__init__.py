# SPDX-License-Identifier: Apache-2.0
"""One module a group of op families; each lists recordable cases."""
