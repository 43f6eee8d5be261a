// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Main NAMESERVERS SCENARIO...: runs each by name, says "@passed name" or "@failed name text".
 * Main NAMESERVERS member TOPIC GROUP, sender TOPIC, admin: does what the lines on its input say.
 * Main NAMESERVERS traced TOPIC GROUP: sends and consumes with message trace on.
 * Main NAMESERVERS worker WORD..., load WORD...: consumes, or sends, until its input ends.
 */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8.name());
    System.setOut(new PrintStream(OutputStream.nullOutputStream()));
    Harness harness = new Harness(out);
    if (args[1].equals("admin")) {
      Admin.serve(harness, out);
      Runtime.getRuntime().halt(0);
    }
    if (args[1].equals("member")) {
      Peer.member(harness, args[0], args[2], args[3]);
      Runtime.getRuntime().halt(0);
    }
    if (args[1].equals("sender")) {
      Peer.sender(harness, args[0], args[2]);
      Runtime.getRuntime().halt(0);
    }
    if (args[1].equals("traced")) {
      Peer.traced(harness, args[0], args[2], args[3]);
      Runtime.getRuntime().halt(0);
    }
    String[] words = Arrays.copyOfRange(args, 2, args.length);
    if (args[1].equals("worker")) {
      Worker.run(harness, args[0], words);
      Runtime.getRuntime().halt(0);
    }
    if (args[1].equals("load")) {
      Load.run(harness, args[0], words);
      Runtime.getRuntime().halt(0);
    }
    Scenarios scenarios = new Scenarios(args[0], harness);
    boolean failed = false;
    for (int i = 1; i < args.length; i++) {
      try {
        Scenarios.class.getDeclaredMethod(args[i]).invoke(scenarios);
        harness.say("passed " + args[i]);
      } catch (java.lang.reflect.InvocationTargetException e) {
        failed = true;
        e.getCause().printStackTrace();
        harness.say("failed " + args[i] + " " + e.getCause());
      }
    }
    Runtime.getRuntime().halt(failed ? 1 : 0);
  }
}
