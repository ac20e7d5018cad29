/** Says why a database cannot be opened by this version. */
import { StorageFault } from './write.js'

/** The database was made by a newer version of this program. */
export class NewerDatabase extends Error {
  override name = 'NewerDatabase'

  constructor(file: string, unknown: readonly string[], remedy = '') {
    const known = `this one does not know its migration ${unknown.join(', ')}`
    super(`${file} was made by a newer version: ${known}${remedy === '' ? '' : `. ${remedy}`}`)
  }
}

/**
 * The database was made by a build from before the first release. Such builds changed the schema in steps that no release
 * knows.
 */
export class DevelopmentDatabase extends Error {
  override name = 'DevelopmentDatabase'

  constructor(file: string, applied: readonly string[], remedy: string) {
    super(
      `${file} was made by a development build from before the first release (its last migration is ${applied.at(-1)}), and no release upgrades it. ${remedy}`,
    )
  }
}

/** The database was made by an earlier version, and only the daemon upgrades it. */
export class EarlierDatabase extends Error {
  override name = 'EarlierDatabase'

  constructor(file: string) {
    super(
      `${file} is of an earlier version: (re)start the daemon, which upgrades it; "posthorn check --upgrade" tries that on a copy before`,
    )
  }
}

/** A copy from SQLite has not filled the database of a server entirely. */
export class UnfinishedCopy extends Error {
  override name = 'UnfinishedCopy'

  constructor(schema: string, since: string) {
    super(
      `storage.url: the schema ${schema} has a copy from SQLite that began at ${since} and is not finished: run "posthorn storage copy" again, which begins anew; or remove storage.url to go on with SQLite`,
    )
  }
}

/** Nodes of another version cannot go on with the schema that this version needs. */
export class OtherVersions extends Error {
  override name = 'OtherVersions'

  constructor(migration: string, nodes: readonly string[]) {
    super(`the migration ${migration} needs all other nodes to be stopped: ${nodes.join(', ')} work on the database`)
  }
}

/** Another daemon works on the database. */
export class DatabaseTaken extends StorageFault {
  override name = 'DatabaseTaken'

  constructor(message: string) {
    super('taken', message)
  }
}
