// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"net"
	"runtime"
	"testing"
)

// put makes n bytes arrive in pieces.
func (in *incoming) put(b []byte) {
	for len(b) > 0 {
		room := in.room()
		n := copy(room, b)
		in.took(n, len(room))
		b = b[n:]
	}
}

// A length is a claim; memory follows what arrived.
func TestMemoryFollowsWhatArrived(t *testing.T) {
	const limit = 16 << 20
	frame := binary.BigEndian.AppendUint32(nil, limit-lengthBytes)
	frame = append(frame, make([]byte, limit-lengthBytes)...)
	for _, arrived := range []int{5, 100, 1999, 3000, 70_000, 1 << 20, 5 << 20, limit - 1} {
		var in incoming
		in.init(nil, nil, false)
		in.put(frame[:arrived])
		if _, ok, err := in.next(limit); ok || err != nil {
			t.Fatalf("%d bytes: frame %v, %v", arrived, ok, err)
		}
		if most := max(minReadBytes, 2*arrived); in.held() > most {
			t.Errorf("%d bytes arrived, %d held", arrived, in.held())
		}
		in.rest()
		most := max(restReadBytes, 4*arrived)
		if arrived > restReadBytes/2 {
			most = max(minReadBytes, 4*arrived)
		}
		if in.held() > most {
			t.Errorf("%d bytes arrived, %d held while waiting", arrived, in.held())
		}
		in.put(frame[arrived:])
		if got, ok, err := in.next(limit); !ok || err != nil || len(got) != limit-lengthBytes {
			t.Errorf("after %d bytes and the rest: %d, %v, %v", arrived, len(got), ok, err)
		}
		in.rest()
		if in.held() > 0 {
			t.Errorf("%d held after all was handled", in.held())
		}
	}
}

// memory is what the process holds, garbage aside.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A thousand clients, all of which have been served once, and half of which stopped
// in the middle of a frame, cost next to nothing until they speak again.
func TestIdleConnectionsAreCheap(t *testing.T) {
	if raceDetector {
		t.Skip("measures memory")
	}
	const conns, most = 1000, 12 << 10 // bytes per connection, its client's end included
	addr, s := serve(t, handlerFunc(echo), nil)
	body := string(make([]byte, 20_000))
	before := memory()
	peers := make([]net.Conn, conns)
	for i := range peers {
		p := dial(t, addr)
		p.send(request(t, 1, 1, Binary, body))
		p.read()
		if i%2 == 0 {
			p.send(request(t, 1, 2, Binary, body)[:1000])
		}
		peers[i] = p
	}
	eventually(t, "memory given back", func() bool { return (memory()-before)/conns < most })
	t.Logf("%d bytes per connection, both ends", (memory()-before)/conns)
	if n := s.Conns(); n != conns {
		t.Errorf("%d connections", n)
	}
}
