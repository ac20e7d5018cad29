// Which fault was under way when, so that errors, refusals and duplicates can be attributed.

export class Timeline {
  /** { fault, begun, ended, graceEnd } */
  turns = []
  #now = null

  begin(fault) {
    this.#now = { fault, begun: Date.now(), ended: null, notes: [] }
    this.turns.push(this.#now)
    return this.#now
  }

  end() {
    if (this.#now !== null) this.#now.ended = Date.now()
    this.#now = null
  }

  name() {
    return this.#now?.fault.name ?? ''
  }

  isDeadly() {
    return this.#now?.fault.isDeadly === true
  }

  /** Turns that were under way at a time, or ended at most `grace` milliseconds before. */
  at(time, grace) {
    return this.turns.filter(({ begun, ended }) => begun <= time && time <= (ended ?? Number.POSITIVE_INFINITY) + grace)
  }
}
