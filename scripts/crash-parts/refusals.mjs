// Temporary refusals, after which nothing may be stored of what was refused.

export class Refusals {
  /** By number: when it was refused last. */
  #numbers = new Map()
  /** By listener and code: how often. */
  #codes = new Map()
  #unanswered = 0

  /** `number` is null where the client was refused before it sent one. */
  add(listener, number, answer) {
    const code = `${listener} ${answer.slice(0, 3)}`
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
    if (number !== null) this.#numbers.set(number, Date.now())
  }

  addUnanswered() {
    this.#unanswered += 1
  }

  get size() {
    return [...this.#codes.values()].reduce((sum, count) => sum + count, 0)
  }

  /** By number `stored` has rows with the time at which they were made. What is sent again later is made later. */
  balance(stored) {
    const kept = [...this.#numbers].filter(([number, at]) => stored.get(number)?.some((row) => row.created_at <= at))
    const codes = [...this.#codes].sort().map(([code, count]) => `${code} ${count} times`)
    return {
      kept: kept.length,
      line: `refused for a while: ${codes.join(', ') || 'nothing'}; without an answer ${this.#unanswered}; refused but accepted ${kept.length}`,
    }
  }
}
