// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !unix

package remoting

import (
	"errors"
	"net"
	"syscall"
)

// rawConn: elsewhere connections are used through net.Conn only.
func rawConn(net.Conn) syscall.RawConn { return nil }

func readSocket(uintptr, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

func writeSocket(uintptr, []byte, []byte) (int, bool, error) {
	return 0, false, errors.ErrUnsupported
}
