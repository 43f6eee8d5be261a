// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// A unique id names a message from the moment its producer makes it, in upper-case hexadecimal:
//
//	address 4 or 16 | process id 2 | random 4 | ms since the month began 4 | counter 2
//
// RocketMQ: MessageClientIDSetter, where the random part is the hash of a class loader. It tells
// apart the processes of containers, which often share address and process id.
const uniqueTail = 6 // bytes that change from id to id

var unique = newUniqueSource()

type uniqueSource struct {
	fixed   []byte // the part that is the same for all ids, as text
	month   atomic.Pointer[month]
	counter atomic.Uint32
}

// month is a calendar month in local time, ms.
type month struct{ begin, end int64 }

func newUniqueSource() *uniqueSource {
	var raw [16 + 2 + 4]byte
	b := raw[:0]
	switch addr := hostAddr(); {
	case addr.Is4():
		a := addr.As4()
		b = append(b, a[:]...)
	case addr.Is6():
		a := addr.As16()
		b = append(b, a[:]...)
	default: // no network: four bytes of the clock, as RocketMQ does
		b = binary.BigEndian.AppendUint32(b, uint32(time.Now().UnixMilli()))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(os.Getpid()))
	n := len(b)
	b = b[:n+4]
	_, _ = rand.Read(b[n:]) // never fails

	u := &uniqueSource{fixed: appendHex(nil, b)}
	u.month.Store(monthOf(time.Now()))
	return u
}

// hostAddr picks an address of this machine as RocketMQ does, where Java lists IPv6 first: a global IPv6 one, else a
// public IPv4 one, else a private one.
func hostAddr() netip.Addr {
	addrs, _ := net.InterfaceAddrs()
	var best netip.Addr
	rank := 0
	for _, a := range addrs {
		ipNet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipNet.IP)
		if !ok {
			continue
		}
		addr = addr.Unmap()
		r := 1
		switch {
		case !addr.IsGlobalUnicast():
			continue
		case addr.Is6():
			r = 3
		case !addr.IsPrivate():
			r = 2
		}
		if r > rank {
			best, rank = addr, r
		}
	}
	return best
}

func monthOf(t time.Time) *month {
	begin := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location())
	return &month{begin.UnixMilli(), begin.AddDate(0, 1, 0).UnixMilli()}
}

// NewUniqueID makes a new unique id of 32 characters, 56 where the machine has an IPv6 address.
func NewUniqueID() string { return string(AppendUniqueID(make([]byte, 0, IDLengthV6))) }

// AppendUniqueID appends a new unique id to dst.
func AppendUniqueID(dst []byte) []byte { return unique.append(dst, time.Now()) }

func (u *uniqueSource) append(dst []byte, now time.Time) []byte {
	ms := now.UnixMilli()
	m := u.month.Load()
	if ms >= m.end {
		m = monthOf(now)
		u.month.Store(m)
	}
	since := max(ms-m.begin, 0) // the clock may have been set back over the month's beginning
	var raw [uniqueTail]byte
	binary.BigEndian.PutUint32(raw[:], uint32(since))
	binary.BigEndian.PutUint16(raw[4:], uint16(u.counter.Add(1)-1))
	dst = append(dst, u.fixed...)
	return appendHex(dst, raw[:])
}

// UniqueIDInfo is what a unique id tells about its maker.
type UniqueIDInfo struct {
	Addr    netip.Addr
	PID     uint16
	Time    time.Time
	Counter uint16
}

// ParseUniqueID takes a unique id apart. The id does not say which month it is of: the latest is
// taken that does not lie after now, whose location should be the producer's.
func ParseUniqueID(id string, now time.Time) (UniqueIDInfo, error) {
	var info UniqueIDInfo
	if len(id) != IDLengthV4 && len(id) != IDLengthV6 {
		return info, fmt.Errorf("unique id %.64q has %d characters, not %d or %d", id, len(id), IDLengthV4, IDLengthV6)
	}
	b, err := hex.DecodeString(id)
	if err != nil {
		return info, fmt.Errorf("unique id %q: %w", id, err)
	}
	if len(id) == IDLengthV6 {
		info.Addr = netip.AddrFrom16([16]byte(b[:16]))
		b = b[16:]
	} else {
		info.Addr = netip.AddrFrom4([4]byte(b[:4]))
		b = b[4:]
	}
	info.PID = binary.BigEndian.Uint16(b)
	since := time.Duration(binary.BigEndian.Uint32(b[6:])) * time.Millisecond
	info.Counter = binary.BigEndian.Uint16(b[10:])

	begin := time.UnixMilli(monthOf(now).begin).In(now.Location())
	if begin.Add(since).After(now) {
		begin = begin.AddDate(0, -1, 0)
	}
	info.Time = begin.Add(since)
	return info, nil
}
