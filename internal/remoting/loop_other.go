// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package remoting

import (
	"errors"
	"net"
	"syscall"
)

// Elsewhere each connection has a goroutine of its own.
type (
	loops  struct{}
	loop   struct{}
	socket struct{ raw syscall.RawConn }
)

func newLoops(int, func()) (*loops, error) { return nil, nil }
func (*loops) pick() *loop                 { return nil }
func (*loops) close()                      {}
func (*loop) add(*Conn) error              { return errors.ErrUnsupported }
func (*loop) wake(*Conn)                   {}
func adopt(net.Conn) *socket               { return nil }
func (*socket) close()                     {}
func (*socket) netConn() (net.Conn, error) { return nil, errors.ErrUnsupported }
func (*loop) flushSoon(*Conn)              {}
