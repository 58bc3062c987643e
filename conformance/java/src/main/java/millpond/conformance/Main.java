package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * Runs conformance cases through Kafka Streams: one case a line on standard input, its result a line
 * on standard output, in the same order. docs/internals/conformance.md describes both.
 */
public final class Main {
  public static void main(String[] args) throws Exception {
    PrintStream results = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    // Whatever else is printed must not stand between the results.
    System.setOut(System.err);
    ObjectMapper json = new ObjectMapper();
    BufferedReader cases =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Path state = Files.createTempDirectory("millpond-conformance-");
    int number = 0;
    for (String line = cases.readLine(); line != null; line = cases.readLine()) {
      JsonNode oneCase = json.readTree(line);
      ObjectNode result = json.createObjectNode();
      try {
        new Run(oneCase, result, state.resolve(String.valueOf(number++))).run();
      } catch (InvalidCase wrong) {
        result.removeAll().put("invalid", wrong.getMessage());
      }
      results.println(json.writeValueAsString(result));
      if (!cases.ready()) results.flush();
    }
    results.flush();
    delete(state);
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    }
  }
}
