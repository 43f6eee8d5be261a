// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

// fallbackMemory is taken for the machine's memory where it cannot be asked for.
const fallbackMemory = 8 << 30
