// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The other side of the pipe: lines that begin with '@' ask the Go harness for something, one line answers. */
final class Harness {
  private final PrintStream out;
  private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

  Harness(PrintStream out) {
    this.out = out;
  }

  void say(String line) {
    out.println("@" + line);
    out.flush();
  }

  void ask(String what) throws IOException {
    say(what);
    String answer = in.readLine();
    if (!"ok".equals(answer)) {
      throw new IOException(what + ": " + answer);
    }
  }

  String next() throws IOException {
    return in.readLine();
  }
}
