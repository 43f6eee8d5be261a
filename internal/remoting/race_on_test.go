// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build race

package remoting

// raceDetector makes stacks and memory larger than they are.
const raceDetector = true
