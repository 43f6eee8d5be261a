// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build unix

package remoting

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawConn gives access to the system calls of a plain socket, nil for anything
// else. Only the standard library's own types count: one that wraps them may do
// something of its own in Read and Write.
func rawConn(nc net.Conn) syscall.RawConn {
	switch nc := nc.(type) {
	case *net.TCPConn:
		raw, _ := nc.SyscallConn()
		return raw
	case *net.UnixConn:
		raw, _ := nc.SyscallConn()
		return raw
	}
	return nil
}

// readSocket reads once. again: there is nothing to read now.
func readSocket(fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, true, nil
		case err != nil:
			return 0, false, err
		case n == 0:
			return 0, false, io.EOF
		}
		return n, false, nil
	}
}

// writeSocket writes once, head and then body. again: the socket takes no more
// now, though it may have taken n.
func writeSocket(fd uintptr, head, body []byte) (n int, again bool, err error) {
	for {
		if len(body) == 0 {
			n, err = syscall.Write(int(fd), head)
		} else {
			n, err = unix.Writev(int(fd), [][]byte{head, body})
		}
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, true, nil
		case err != nil:
			return 0, false, err
		}
		return n, n < len(head)+len(body), nil
	}
}
