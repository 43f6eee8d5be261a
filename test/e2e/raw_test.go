// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// raw is a connection that bytes are written to.
type raw struct{ *net.TCPConn }

func dialRaw(t testing.TB, addr string) raw {
	t.Helper()
	r, err := tryDialRaw(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func tryDialRaw(addr string) (raw, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return raw{}, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	return raw{c.(*net.TCPConn)}, nil
}

// read reads one frame.
func (r raw) read() (*remoting.Command, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > 16<<20 {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	c := new(remoting.Command)
	if err := remoting.DecodeFrame(c, b); err != nil {
		return nil, err
	}
	return c, nil
}

// ended reads until the other side closes and tells what came before.
func (r raw) ended() ([]byte, error) {
	b, err := io.ReadAll(r)
	if errors.Is(err, syscall.ECONNRESET) {
		err = nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the connection is still open: %w", err)
	}
	return b, err
}

// abort closes so that the other side sees a reset connection, and no port waits.
func (r raw) abort() {
	_ = r.SetLinger(0)
	_ = r.Close()
}

// frame encodes a request as clients do.
func frame(t testing.TB, f form, opaque int32, req *remoting.Command) []byte {
	t.Helper()
	c := *req
	c.Opaque, c.Serializer, c.Version, c.Language = opaque, f, 513, remoting.LanguageJava
	b, err := remoting.AppendFrame(nil, &c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frameOf puts a length and a header word of the given form before a header and a body.
func frameOf(f byte, head, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(head)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(f)<<24|uint32(len(head)))
	b = append(b, head...)
	return append(b, body...)
}

// jsonFrame is a frame with a JSON header of the given extFields text.
func jsonFrame(code, opaque int32, extFields, body string) []byte {
	return frameOf(0, fmt.Sprintf(`{"code":%d,"extFields":%s,"flag":0,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":513}`,
		code, extFields, opaque), body)
}
