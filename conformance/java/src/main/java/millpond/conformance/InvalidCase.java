package millpond.conformance;

/** The case itself is wrong: it says what neither side could run. */
final class InvalidCase extends RuntimeException {
  InvalidCase(String message) {
    super(message);
  }
}
