package millpond.interchange;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes turns at applications for whoever connects: many in one process, which starts slowly. It tells its
 * port on standard output, and ends when its standard input does.
 *
 * <p>A connection is one turn: a line for the program, one for the group protocol, one for each argument, and
 * an empty one. The answer is the rows, a line each, and a last line {@code done}, or {@code failed} and
 * why. Whoever hangs up before that ends the turn.
 */
public final class Turns {
  private Turns() {}

  public static void main(String[] args) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      start(() -> accept(server)).setName("turns");
      System.out.println(server.getLocalPort());
      while (System.in.read() >= 0) {
        // Only its end says something.
      }
    }
    System.exit(0);
  }

  private static Thread start(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void accept(ServerSocket server) {
    try {
      while (true) {
        Socket connection = server.accept();
        start(() -> serve(connection));
      }
    } catch (IOException closed) {
      // The end.
    }
  }

  private static void serve(Socket connection) {
    try (connection;
        BufferedReader in = new BufferedReader(
            new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
        PrintStream out =
            new PrintStream(connection.getOutputStream(), false, StandardCharsets.UTF_8)) {
      List<String> told = new ArrayList<>();
      for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine())
        told.add(line);
      Thread turn = start(() -> answer(told, out));
      while (in.read() >= 0) {
        // Only a hang-up says something.
      }
      turn.interrupt();
      turn.join();
    } catch (IOException | InterruptedException hungUp) {
      // Nobody is there to be told.
    }
  }

  private static void answer(List<String> told, PrintStream out) {
    try {
      String[] args = told.subList(2, told.size()).toArray(String[]::new);
      for (String row : run(told.get(0), told.get(1), args)) out.println(row);
      out.println("done");
    } catch (Exception failure) {
      out.println("failed");
      failure.printStackTrace(out);
    }
    out.close();
  }

  private static List<String> run(String program, String groupProtocol, String[] args)
      throws Exception {
    return switch (program) {
      case "Tally" -> Tally.run(groupProtocol, args);
      case "Orders" -> Orders.run(groupProtocol, args);
      case "Visits" -> Visits.run(groupProtocol, args);
      case "Market" -> Market.run(groupProtocol, args);
      default -> throw new IllegalArgumentException("there is no program " + program);
    };
  }
}
