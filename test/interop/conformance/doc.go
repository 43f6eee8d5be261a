// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package conformance asks the built server what the real Java server was asked,
// and compares. Its tests need the folder of shared material (SHARED names it)
// and so have a build tag of their own: go test -tags shared ./conformance.
package conformance
