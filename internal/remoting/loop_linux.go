// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// loop reads for many connections on one goroutine, its driver: those that have sent something are read and handled one
// after the other, then the work of all is committed at once (Config.AfterBatch) and their answers are written. Compared
// with a goroutine for each connection that saves waking each of them, asking the kernel twice, and a commit for each.
//
// A handler that waits, against the rules, holds up its own connection only: the guard has another goroutine drive on for
// the others (replaceLocked). A connection that has to wait for its peer, or that carries so much that it fills reads by
// itself, leaves the loop for good (Conn.part).
type loop struct {
	loops *loops
	epoll *os.File // itself watched by the runtime's poller
	raw   syscall.RawConn
	epfd  int
	alarm int // eventfd that ends the wait for events

	mu      sync.Mutex
	seats   []seat
	vacant  []int32
	woken   []*Conn // to be looked at though nothing may have arrived
	flushes []*Conn // to be written
	ready   []*Conn // to be read in this round
	at      int     // the next one of ready
	touched []*Conn // handled in this round; work and answers are not committed yet
	bytes   int     // read for touched
	driver  uint64  // who drives; a goroutine that is no longer it gives up
	busy    bool    // not waiting for events
	rung    bool    // the alarm is about to end the wait
	quit    bool    // the alarm may be closed
	current *Conn   // being handled
	steps   uint64  // progress, for the guard
	spare   []*Conn // memory for flushes

	// The driver's own.
	events []unix.EpollEvent
	found  int // how many of events are filled
	look   func(fd uintptr) bool

	drivers sync.WaitGroup
}

// seat is where a connection is found by the number that epoll knows it by.
type seat struct {
	conn  *Conn
	epoch uint32 // tells it from connections that sat here before
}

const (
	roundEvents = 256
	// roundBytes is how much is handled before it is committed and answered, though more waits to be read.
	roundBytes = 1 << 20
	alarmSeat  = -1
)

// newLoop makes a loop that nobody drives yet.
func newLoop(ls *loops) (*loop, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	alarm, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epfd)
		return nil, os.NewSyscallError("eventfd", err)
	}
	err = unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, alarm, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: alarmSeat})
	if err == nil {
		err = unix.SetNonblock(epfd, true) // or the runtime would not watch it
	}
	l := &loop{loops: ls, epoll: os.NewFile(uintptr(epfd), "epoll"), epfd: epfd, alarm: alarm}
	if err == nil {
		l.raw, err = l.epoll.SyscallConn()
	}
	if err != nil {
		l.release()
		return nil, os.NewSyscallError("epoll", err)
	}
	l.events = make([]unix.EpollEvent, roundEvents)
	l.look = func(fd uintptr) bool {
		n, err := unix.EpollWait(int(fd), l.events, 0)
		l.found = max(n, 0)
		return n > 0 || err != nil && err != unix.EINTR
	}
	return l, nil
}

func (l *loop) release() { _, _ = l.epoll.Close(), unix.Close(l.alarm) }

// start has a goroutine drive.
func (l *loop) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
}

func (l *loop) startLocked() {
	l.driver++
	l.drivers.Add(1)
	go l.drive(l.driver)
}

// stop ends the loop; no connection is on it any more.
func (l *loop) stop() {
	l.mu.Lock()
	l.quit = true
	l.ring()
	l.mu.Unlock()
	l.drivers.Wait()
	l.release()
}

// add seats c and has its socket watched.
func (l *loop) add(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.vacant); n > 0 {
		c.seat, l.vacant = l.vacant[n-1], l.vacant[:n-1]
	} else {
		c.seat = int32(len(l.seats))
		l.seats = append(l.seats, seat{})
	}
	s := &l.seats[c.seat]
	s.conn = c
	err := c.sock.control(func(fd int) error {
		return unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: c.seat, Pad: int32(s.epoch),
		})
	})
	if err != nil {
		l.vacateLocked(c)
		return err
	}
	if c.closed.Load() || c.draining.Load() || c.wantsOwn.Load() { // it was told before it had a seat
		l.wakeLocked(c)
	}
	return nil
}

// removeLocked ends watching c, whose turn the caller has.
func (l *loop) removeLocked(c *Conn) {
	_ = c.sock.control(func(fd int) error { return unix.EpollCtl(l.epfd, unix.EPOLL_CTL_DEL, fd, nil) })
	l.vacateLocked(c)
}

func (l *loop) vacateLocked(c *Conn) {
	s := &l.seats[c.seat]
	s.conn = nil
	s.epoch++
	l.vacant = append(l.vacant, c.seat)
	c.seat = noSeat
}

// wake has the driver look at c, which may have left.
func (l *loop) wake(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakeLocked(c)
}

func (l *loop) wakeLocked(c *Conn) {
	if !l.quit {
		l.woken = append(l.woken, c)
		l.ringLocked()
	}
}

// flushSoon has the driver write what c gathered.
func (l *loop) flushSoon(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.quit {
		l.flushes = append(l.flushes, c)
		l.ringLocked()
	}
}

// ringLocked ends the driver's wait for events.
func (l *loop) ringLocked() {
	if !l.busy && !l.rung {
		l.rung = true
		l.ring()
	}
}

func (l *loop) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(l.alarm, one[:])
}

func (l *loop) silence() {
	var b [8]byte
	_, _ = unix.Read(l.alarm, b[:])
}

// drive reads, handles and answers until the loop ends or another goroutine took over.
func (l *loop) drive(me uint64) {
	defer l.drivers.Done()
	for {
		c, toEnd := l.next(me)
		if c == nil || !l.took(me, c, c.onLoop(toEnd)) {
			return
		}
	}
}

// next gives the connection whose turn it is, and whether it is to be read to its end. In between it writes and commits, and
// waits for events. nil: drive no more.
func (l *loop) next(me uint64) (c *Conn, toEnd bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.driver == me {
		switch {
		case len(l.flushes) > 0:
			l.flushLocked()
		case len(l.touched) > 0 && (l.at == len(l.ready) || l.bytes >= roundBytes):
			l.commitLocked()
		case l.at < len(l.ready):
			c := l.ready[l.at]
			l.ready[l.at] = nil
			l.at++
			if c.away || c.seat == noSeat {
				continue
			}
			l.current = c
			l.steps++
			return c, c.hungUp
		case l.quit:
			return nil, false
		default:
			l.ready, l.at = l.ready[:0], 0
			l.harvestLocked()
		}
	}
	return nil, false
}

// flushLocked writes what others gathered for connections of the loop, without the lock.
func (l *loop) flushLocked() {
	flushes := l.flushes
	l.flushes, l.spare = l.spare, nil
	l.steps++
	l.mu.Unlock()
	for i, c := range flushes {
		c.flushing.Store(false)
		c.out.flush()
		flushes[i] = nil
	}
	l.mu.Lock()
	l.spare = flushes[:0]
}

// commitLocked commits and answers what was handled in this round, without the lock.
func (l *loop) commitLocked() {
	touched := l.touched
	l.touched, l.bytes = nil, 0
	l.steps++
	l.mu.Unlock()
	l.finish(touched)
	clear(touched)
	runtime.Gosched() // a driver with work without end would leave other goroutines their turns of 10 ms only
	l.mu.Lock()
	if l.touched == nil {
		l.touched = touched[:0]
	}
}

func (l *loop) finish(touched []*Conn) {
	if l.loops.commit != nil {
		l.loops.commit()
	}
	for _, c := range touched {
		c.out.flush()
	}
}

// harvestLocked makes turns of what happened. While nothing did it waits, without the lock.
func (l *loop) harvestLocked() {
	if len(l.woken) == 0 {
		l.busy = false
		l.mu.Unlock()
		err := l.raw.Read(l.look)
		l.mu.Lock()
		l.busy, l.rung = true, false
		l.quit = l.quit || err != nil
		l.steps++
		l.loops.attend()
	}
	l.ready = append(l.ready, l.woken...)
	clear(l.woken)
	l.woken = l.woken[:0]
	for _, e := range l.events[:l.found] {
		if e.Fd == alarmSeat {
			l.silence()
			continue
		}
		s := &l.seats[e.Fd]
		if s.conn == nil || s.epoch != uint32(e.Pad) {
			continue
		}
		if e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			s.conn.hungUp = true // told once only
		}
		l.ready = append(l.ready, s.conn)
	}
	l.found = 0
}

// took notes what came of a turn. False: another goroutine drives by now.
func (l *loop) took(me uint64, c *Conn, o outcome) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.driver == me
	if mine {
		l.current = nil
	}
	switch {
	case o.gone():
		l.removeLocked(c)
		go c.part(o)
	case mine:
		if o.handled {
			l.touched = append(l.touched, c)
			l.bytes += o.bytes
		}
		if o.more {
			l.ready = append(l.ready, c)
		}
	default:
		if o.handled {
			l.mu.Unlock()
			c.endBatch()
			l.mu.Lock()
		}
		c.away = false
		l.wakeLocked(c) // others passed it over meanwhile
	}
	return mine
}

// replaceLocked has another goroutine drive. The connection that is being handled stays with the one that does.
func (l *loop) replaceLocked() {
	if l.current != nil {
		l.current.away = true
		l.current = nil
	}
	l.startLocked()
}
