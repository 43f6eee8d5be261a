// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is one whose readiness a loop watches, and not the runtime's poller.
type socket struct {
	file *os.File
	raw  syscall.RawConn
}

// adopt takes the socket of nc away from the runtime's poller. nil: it is no plain TCP connection, or there are no
// descriptors left; nc is as it was then.
func adopt(nc net.Conn) *socket {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	old, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if old.Control(func(n uintptr) { fd, err = unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 0) }) != nil || err != nil {
		return nil
	}
	// What blocks when the file is made is none of the poller's. It must not block all the same.
	_ = unix.SetNonblock(fd, false)
	s := &socket{file: os.NewFile(uintptr(fd), "tcp")}
	_ = unix.SetNonblock(fd, true)
	if s.raw, err = s.file.SyscallConn(); err != nil {
		s.close()
		return nil
	}
	_ = tcp.Close()
	return s
}

func (s *socket) close() { _ = s.file.Close() }

// control calls f with the descriptor, unless it is closed.
func (s *socket) control(f func(fd int) error) error {
	var err error
	if closed := s.raw.Control(func(fd uintptr) { err = f(int(fd)) }); closed != nil {
		return closed
	}
	return err
}

// netConn gives the socket once more, as one that the runtime's poller watches.
func (s *socket) netConn() (net.Conn, error) { return net.FileConn(s.file) }
