package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.SessionWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;

/** Writes the program of a case with StreamsBuilder: one method call for each step. */
final class Program {
  /** By `<kind of the first input>.<op>`, or `builder.<op>` for an op that begins a stream. */
  private static final Map<String, Call.Op> OPS = new HashMap<>();

  /** What steps give, and what its kind is called. */
  private static final Map<Class<?>, String> KINDS = new LinkedHashMap<>();

  static {
    // Each family of operators brings its ops; a new one is a line here.
    StreamOps.addTo(OPS);
    TableOps.addTo(OPS);
    GlobalOps.addTo(OPS);
    RouteOps.addTo(OPS);
    JoinOps.addTo(OPS);
    WindowOps.addTo(OPS);
    ProcessorOps.addTo(OPS);

    KINDS.put(KStream.class, "stream");
    KINDS.put(KTable.class, "table");
    KINDS.put(GlobalKTable.class, "globalTable");
    KINDS.put(RouteOps.Split.class, "branches");
    KINDS.put(KGroupedStream.class, "grouped");
    KINDS.put(KGroupedTable.class, "groupedTable");
    KINDS.put(TimeWindowedKStream.class, "windowed");
    KINDS.put(SessionWindowedKStream.class, "sessionWindowed");
    KINDS.put(CogroupedKStream.class, "cogrouped");
    KINDS.put(TimeWindowedCogroupedKStream.class, "windowedCogrouped");
    KINDS.put(SessionWindowedCogroupedKStream.class, "sessionWindowedCogrouped");
  }

  private final StreamsBuilder builder = new StreamsBuilder();
  /** What each step gave, by id. */
  private final Map<String, Object> steps = new HashMap<>();
  private final Call.PeekListener peeked;
  private Object previous;

  Program(Call.PeekListener peeked) {
    this.peeked = peeked;
  }

  Topology build(JsonNode topology, Properties config) {
    for (JsonNode step : topology) {
      // Functions are looked up for each record: too late to say that there is none of that name.
      for (String spec : Call.texts(step.path("with"))) Library.check(spec);
      previous = opOf(step).apply(new Call(step, builder, index -> input(step, index), peeked));
      if (step.has("id")) steps.put(step.get("id").asText(), previous);
    }
    return builder.build(config);
  }

  private Call.Op opOf(JsonNode step) {
    String name = step.path("op").asText();
    Call.Op op = OPS.get("builder." + name);
    if (op == null) op = OPS.get(kindOf(input(step, 0), step) + "." + name);
    if (op == null) throw new InvalidCase("there is no op " + name + " of what it is given: " + step);
    return op;
  }

  private static String kindOf(Object input, JsonNode step) {
    for (var kind : KINDS.entrySet()) if (kind.getKey().isInstance(input)) return kind.getValue();
    throw new InvalidCase("the step above gives nothing: " + step);
  }

  /** A step's n-th input: what `from` names (one id, or a list), or the step before; else null. */
  private Object input(JsonNode step, int index) {
    if (!step.has("from")) return index == 0 ? previous : null;
    List<String> ids = Call.texts(step.get("from"));
    if (index >= ids.size()) return null;
    if (!steps.containsKey(ids.get(index))) throw new InvalidCase("there is no step " + ids.get(index));
    return steps.get(ids.get(index));
  }
}
