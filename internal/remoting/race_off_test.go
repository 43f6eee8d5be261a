// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !race

package remoting

const raceDetector = false
