/**
 * Loads values for caches. Loads of one key at once are one. A value whose key was forgotten since its load began is
 * given to those who asked before, and is not kept, because it may be out of date.
 */
export class SharedLoads<Value> {
  private readonly underWay = new Map<string, Promise<Value>>()

  /** Joins the load of the key that is under way, or begins one. `keep` stores what was loaded, and never throws. */
  join(key: string, load: () => Promise<Value>, keep: (value: Value) => void = () => undefined): Promise<Value> {
    const known = this.underWay.get(key)
    if (known !== undefined) return known
    const loading = this.run(key, load, keep, () => this.underWay.get(key) === loading)
    this.underWay.set(key, loading)
    return loading
  }

  /** The next one who asks for the key begins a load. */
  forget(key: string): void {
    this.underWay.delete(key)
  }

  forgetAll(): void {
    this.underWay.clear()
  }

  private async run(
    key: string,
    load: () => Promise<Value>,
    keep: (value: Value) => void,
    isCurrent: () => boolean,
  ): Promise<Value> {
    try {
      const value = await load()
      if (isCurrent()) keep(value)
      return value
    } finally {
      if (isCurrent()) this.underWay.delete(key)
    }
  }
}
