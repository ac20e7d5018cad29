/**
 * Checks whether a server of PostgreSQL can hold the data, and keeps what it acknowledges.
 *
 * `fsync` and `synchronous_commit` decide whether an acknowledged commit survives a crash (PostgreSQL manual, 20.5).
 */

import { errorMessageOf } from '../../platform/errors.js'
import { PostgresServers } from './connect.js'
import type { ConnectionSettings } from './connection-settings.js'
import { findUnfinishedCopy, refuseUnfinishedCopy } from './copy-mark.js'
import type { PipelinedConnection } from './pipelined-connection.js'

/** The major version, of which 15 is the first that is supported, as `server_version_num` has it. */
const MIN_VERSION = 150_000

const questions = `select current_setting('server_version_num')::integer as version,
  current_setting('server_version') as version_name, current_setting('server_encoding') as encoding,
  current_setting('fsync') as fsync, current_setting('full_page_writes') as full_pages,
  current_setting('synchronous_commit') as synchronous_commit,
  to_regnamespace($1) is not null as has_schema, to_regclass('copying') is not null as has_copies,
  case when to_regnamespace($1) is null then has_database_privilege(current_database(), 'CREATE')
    else has_schema_privilege($1, 'CREATE') end as may_create,
  current_user as user_name, current_database() as database_name`

interface Server {
  readonly versionName: string
  readonly problems: readonly string[]
  /** Those of the problems with which no data can be stored there as it is. */
  readonly refusals: readonly string[]
  /** Copies that are unfinished, with which nothing but another copy can begin. */
  readonly copies: readonly string[]
}

/**
 * Connects, and tells what is wrong. Rejects with `NoServer` if no connection is possible, and with
 * `ConnectionSettingsError` if the file of the password cannot be read.
 */
export async function checkServer(settings: ConnectionSettings): Promise<Server> {
  const [host] = settings.hosts
  // A server that trusts the user asks for none, and one that takes over may ask.
  if (settings.source.storage.passwordFile !== '' && host !== undefined) await settings.findPassword(host)
  const connection = await new PostgresServers(settings).connect()
  try {
    return await judge(connection, settings.schema)
  } finally {
    await connection.close()
  }
}

/** Something that may be wrong, and what the operator is told then. */
type Finding = readonly [isWrong: boolean, text: string]

async function judge(connection: PipelinedConnection, schema: string): Promise<Server> {
  const [answer] = await connection.run([{ sql: questions, parameters: [schema] }])
  const { version, version_name: name, encoding, fsync, ...more } = answer?.rows[0] ?? {}
  const { full_pages: fullPages, synchronous_commit: synchronousCommit } = more
  const { has_schema: hasSchema, may_create: mayCreate, user_name: user, database_name: database } = more
  const { has_copies: hasCopies } = more
  const object = hasSchema === 1 ? `schema ${schema}` : `database "${String(database)}"`
  const unusable: readonly Finding[] = [
    [Number(version) < MIN_VERSION, `the server is version ${String(name)}; allowed: 15 or newer`],
    [
      encoding !== 'UTF8',
      `the database has the encoding ${String(encoding)}; allowed: UTF8 (create database … encoding 'UTF8')`,
    ],
    [
      mayCreate !== 1,
      `the user "${String(user)}" may create nothing in the ${object}: grant create on ${object} to "${String(user)}"`,
    ],
  ]
  const unsafe: readonly Finding[] = [
    [fsync !== 'on', 'fsync is off, so a crash of the machine loses mail: set fsync = on'],
    [fullPages !== 'on', 'full_page_writes is off, so a crash may damage the database: set full_page_writes = on'],
    [
      synchronousCommit === 'off' || synchronousCommit === 'local',
      `synchronous_commit is ${String(synchronousCommit)}, so acknowledged mail may be lost; allowed: on, remote_apply, remote_write (alter role "${String(user)}" in database "${String(database)}" set synchronous_commit = on)`,
    ],
  ]
  const refusals = textsOf(unusable)
  const copies = hasCopies === 1 ? await listUnfinishedCopies(connection, schema) : []
  return { versionName: String(name), refusals, problems: [...refusals, ...textsOf(unsafe)], copies }
}

async function listUnfinishedCopies(connection: PipelinedConnection, schema: string): Promise<readonly string[]> {
  const [found] = await connection.run([findUnfinishedCopy])
  try {
    refuseUnfinishedCopy(found, schema)
    return []
  } catch (error) {
    return [errorMessageOf(error).replace(/^storage\.url: /, '')]
  }
}

function textsOf(findings: readonly Finding[]): readonly string[] {
  return findings.flatMap(([isWrong, text]) => (isWrong ? [text] : []))
}
