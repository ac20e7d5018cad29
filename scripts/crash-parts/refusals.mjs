// Temporary refusals, after which nothing may be stored of what was refused.

export class Refusals {
  /** By number: from when until when each request was under way that was refused. */
  #numbers = new Map()
  /** By listener and code: how often. */
  #codes = new Map()
  /** Null until the daemon has to answer. */
  #unanswered = null

  /** `number` is null where the client was refused before it sent one. */
  add(listener, number, answer, begun) {
    const code = `${listener} ${answer.slice(0, 3)}`
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
    if (number === null) return
    this.#numbers.set(number, [...(this.#numbers.get(number) ?? []), { begun, refused: Date.now() }])
  }

  addUnanswered() {
    if (this.#unanswered !== null) this.#unanswered += 1
  }

  expectAnswers() {
    this.#unanswered = 0
  }

  get size() {
    return [...this.#codes.values()].reduce((sum, count) => sum + count, 0)
  }

  /** By number `stored` has rows with the time at which they were made, which may be that of another request for the number. */
  balance(stored) {
    const kept = [...this.#numbers].filter(([number, requests]) =>
      stored
        .get(number)
        ?.some(({ created_at: at }) => requests.some(({ begun, refused }) => begun <= at && at <= refused)),
    )
    const codes = [...this.#codes].sort().map(([code, count]) => `${code} ${count} times`)
    return {
      kept: kept.length,
      line: `refused for a while: ${codes.join(', ') || 'nothing'}; without an answer ${this.#unanswered ?? 'not counted'}; refused but accepted ${kept.length}`,
    }
  }
}
