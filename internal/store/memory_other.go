// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package store

func memoryBytes() int64 { return fallbackMemory }
