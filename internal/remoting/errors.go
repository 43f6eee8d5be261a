// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import "errors"

var (
	// ErrClosed is what calls on a closed connection, server or client get, and calls
	// that were waiting for an answer when it closed. It comes wrapped with the
	// peer's address.
	ErrClosed = errors.New("connection closed")
	// ErrTimeout is what Go's callback gets when no answer came in time. The
	// connection lives on; a late answer is dropped.
	ErrTimeout = errors.New("no answer in time")
	// ErrTooLarge: the command does not fit into a frame (Config.MaxFrameBytes, or
	// what the length fields of the header can say).
	ErrTooLarge = errors.New("command does not fit into a frame")
	// ErrPeerSlow: the peer takes what it is sent too slowly, so nothing more is
	// queued for it.
	ErrPeerSlow = errors.New("peer does not read")

	errIdle     = errors.New("idle for too long")
	errStalled  = errors.New("peer takes nothing")
	errShutdown = errors.New("shutting down")

	// errNeedsOwn: what comes next waits for the peer, which only a goroutine of the connection's own may do.
	errNeedsOwn = errors.New("needs a goroutine of its own")
)

// FrameError is why bytes from a peer are not a frame; the connection they came
// on is closed, as nothing after them can be trusted.
type FrameError struct{ Reason string }

func (e *FrameError) Error() string { return "bad frame: " + e.Reason }

func badFrame(reason string) error { return &FrameError{Reason: reason} }
