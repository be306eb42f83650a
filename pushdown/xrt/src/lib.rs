// SPDX-License-Identifier: Apache-2.0
//! A drive that is a card.
