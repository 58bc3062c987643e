package millpond.conformance;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Printed;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.TopicNameExtractor;

/** Where the records of a stream go: branches, topics that records name, repartition topics, lines. */
final class RouteOps {
  /** A split, for the ops that take one of its streams. */
  record Split(BranchedKStream<Object, Object> branched, String prefix, String rest) {}

  static void addTo(Map<String, Call.Op> ops) {
    ops.put("stream.split", RouteOps::split);
    ops.put("branches.branch", RouteOps::branch);
    ops.put("stream.print", RouteOps::print);
    ops.put("stream.repartition", call -> call.stream().repartition(repartitioned(call)));
    ops.put("stream.toChosen", call -> {
      call.stream().to(
          new Chooser(call.with()),
          Produced.with(call.serdeOrNull("key"), call.serdeOrNull("value")).withName(call.name()));
      return null;
    });
  }

  /** `branches`: names for the predicates in `with`; without it they are counted. `rest`: a name for it. */
  private static Split split(Call call) {
    BranchedKStream<Object, Object> branched =
        call.has("name") ? call.stream().split(call.named()) : call.stream().split();
    List<String> names = Call.texts(call.step().path("branches"));
    int count = Call.texts(call.step().path("with")).size();
    for (int index = 0; index < count; index += 1) {
      Library.Function predicate = call.with(index);
      if (names.isEmpty()) branched.branch((k, v) -> predicate.test(v, k));
      else branched.branch((k, v) -> predicate.test(v, k), Branched.as(names.get(index)));
    }
    return new Split(branched, call.name(), call.step().path("rest").asText(null));
  }

  /** `branch`: the name or number of one, or `rest`. */
  private static KStream<Object, Object> branch(Call call) {
    Split split = call.input(0);
    String wanted = call.step().path("branch").asText();
    if (wanted.equals("rest")) {
      Map<String, KStream<Object, Object>> all = split.rest == null
          ? split.branched.defaultBranch()
          : split.branched.defaultBranch(Branched.as(split.rest));
      return find(all, split.rest == null ? "0" : split.rest, split);
    }
    return find(split.branched.noDefaultBranch(), wanted, split);
  }

  private static KStream<Object, Object> find(
      Map<String, KStream<Object, Object>> streams, String name, Split split) {
    String prefix = split.prefix == null ? "KSTREAM-BRANCH-[0-9]{10}" : Pattern.quote(split.prefix);
    for (var entry : streams.entrySet()) {
      if (entry.getKey().matches(prefix + Pattern.quote(name))) return entry.getValue();
    }
    throw new InvalidCase("there is no branch " + name);
  }

  private static Repartitioned<Object, Object> repartitioned(Call call) {
    Repartitioned<Object, Object> repartitioned = call.has("name")
        ? Repartitioned.as(call.name())
        : Repartitioned.with(null, null);
    repartitioned = repartitioned
        .withKeySerde(call.serdeOrNull("key"))
        .withValueSerde(call.serdeOrNull("value"));
    int partitions = call.step().path("partitions").asInt(0);
    return partitions == 0 ? repartitioned : repartitioned.withNumberOfPartitions(partitions);
  }

  /** Lines come as rows with the line as their key. */
  private static Object print(Call call) {
    PrintStream before = System.out;
    // What Kafka Streams takes for the standard output it flushes with each line.
    System.setOut(new PrintStream(new Lines(call), true, StandardCharsets.UTF_8));
    try {
      Printed<Object, Object> printed = Printed.toSysOut();
      if (call.has("name")) printed = printed.withName(call.name());
      if (call.has("label")) printed = printed.withLabel(call.step().get("label").asText());
      if (call.has("with")) {
        Library.Function format = call.with();
        printed = printed.withKeyValueMapper((k, v) -> Library.text(format.apply(v, k)));
      }
      call.stream().print(printed);
    } finally {
      System.setOut(before);
    }
    return null;
  }

  private static final class Lines extends ByteArrayOutputStream {
    private final Call call;

    Lines(Call call) {
      this.call = call;
    }

    @Override public void flush() {
      String text = toString(StandardCharsets.UTF_8);
      if (!text.endsWith("\n")) return;
      reset();
      call.tell(text.substring(0, text.length() - 1), "");
    }
  }

  static final class Chooser implements TopicNameExtractor<Object, Object> {
    private final Library.Function function;

    Chooser(Library.Function function) {
      this.function = function;
    }

    @Override public String extract(Object key, Object value, RecordContext context) {
      return Library.text(function.apply(value, key));
    }

    @Override public String toString() {
      return "chooser";
    }
  }
}
