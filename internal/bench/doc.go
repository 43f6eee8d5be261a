// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package bench puts load on a broker and measures what comes back: the work of
// goddard bench produce and goddard bench consume.
//
// It speaks plain RocketMQ through frames that are encoded once and patched, so
// that its own cost stays small and any broker, Goddard or not, can be put under
// the same load.
//
// Words: depth is how many requests of one connection are in flight. Closed loop
// sends the next request when an answer came; open loop sends at a given rate and
// measures from the moment a request should have gone, so that a broker that
// stalls is charged for the requests it held up (coordinated omission).
package bench
