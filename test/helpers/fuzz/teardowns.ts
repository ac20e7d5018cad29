/** What test helpers register to be undone at the end of a test, for callers that are no test. */
export class Teardowns {
  private readonly undo: (() => unknown)[] = []

  readonly teardown = (undo: () => unknown): void => {
    this.undo.push(undo)
  }

  /** The last first. */
  async run(): Promise<void> {
    for (const undo of this.undo.splice(0).reverse()) await undo()
  }
}
