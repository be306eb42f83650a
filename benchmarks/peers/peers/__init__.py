# SPDX-License-Identifier: Apache-2.0
"""Compares the time and memory of Nearscan with those of other engines, on the same files."""
