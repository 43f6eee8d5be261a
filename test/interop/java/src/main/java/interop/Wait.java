// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Bounded waiting and plain assertions. */
final class Wait {
  private Wait() {}

  /** Waits until ok holds; fails with what after the seconds. */
  static void until(Supplier<String> what, int seconds, BooleanSupplier ok) throws InterruptedException {
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    while (!ok.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within " + seconds + " s: " + what.get());
      }
      Thread.sleep(20);
    }
  }

  static void check(boolean ok, String what) {
    if (!ok) {
      throw new AssertionError(what);
    }
  }

  static void equal(Object want, Object got, String what) {
    if (!want.equals(got)) {
      throw new AssertionError(what + ": want " + want + ", got " + got);
    }
  }
}
