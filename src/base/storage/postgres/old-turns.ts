/**
 * Removes the rows of turns (`Write.turn`), those of deleted owners among them. A commit that needs a turn makes its row
 * again.
 *
 * Each removal takes the turn itself, so it waits for the commit that has it, and those that come meanwhile wait for the
 * removal.
 */
import type { Store } from '../db/database.js'
import { pickByEngine } from '../db/engine.js'

const PORTION = 100

const nextNames = `select name from turns where name > $1 order by name limit ${PORTION}`

export class TurnPurge {
  private cursor = ''

  constructor(private readonly store: Store) {}

  /** Removes a portion. Resolves to whether there are more. */
  async step(): Promise<boolean> {
    const isServer = pickByEngine({ sqlite: false, postgres: true })
    const names = isServer ? await this.store.read<{ name: string }>(nextNames, [this.cursor]) : []
    if (names.length === 0) return false
    await this.store.commit(
      names.map(({ name }) => ({ sql: 'delete from turns where name = $1', parameters: [name], turn: name })),
    )
    this.cursor = names.at(-1)?.name ?? ''
    return names.length === PORTION
  }
}
