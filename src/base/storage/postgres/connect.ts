/**
 * Opens connections to the server that takes writes: each host is tried within a limit, that of the last connection
 * first, and a standby or a read-only server is left out.
 */
import { Client } from 'pg'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { StorageFault } from '../db/write.js'
import { describeConnectFailure, isTimeout, NO_TLS, NoWriter, TIMEOUT } from './connect-failures.js'
import type { ConnectionSettings, HostSettings } from './connection-settings.js'
import { ConnectionSettingsError } from './connection-url.js'
import { PipelinedConnection } from './pipelined-connection.js'

/** Times are in milliseconds. */
export interface ConnectionLimits {
  /** Prepared statements that the server holds for a connection. */
  readonly statements: number
  /** For one host. */
  readonly connect: number
  /** The server ends a statement that takes longer. */
  readonly statement: number
  /** The server ends a statement that waits longer for a lock. */
  readonly lock: number
  /** The server ends a connection that leaves a transaction open. */
  readonly idleInTransaction: number
  /** Without a byte from the server, while statements wait, the connection is given up. */
  readonly silence: number
  /** All statements of a run see one state of the database, and none can write. */
  readonly isReader: boolean
}

const defaults: ConnectionLimits = {
  statements: 500,
  connect: 5_000,
  statement: 30_000,
  lock: 10_000,
  idleInTransaction: 60_000,
  silence: 35_000,
  isReader: false,
}

/** No host can be used, or a setting. The code is that of the first host that was tried: an SQLSTATE, or of the system. */
export class NoServer extends StorageFault {
  override name = 'NoServer'
}

/** Opens connections to the servers of the settings. */
export class PostgresServers {
  private lastHost: HostSettings | undefined

  constructor(private readonly settings: ConnectionSettings) {}

  /** @throws NoServer if no host can be used */
  async connect(limits: Partial<ConnectionLimits> = {}): Promise<PipelinedConnection> {
    const { maxConnect } = this.settings
    const all = { ...defaults, ...(maxConnect === undefined ? {} : { connect: maxConnect }), ...limits }
    const failures: string[] = []
    let code = ''
    for (const host of this.hostsInOrder()) {
      try {
        const connection = await this.open(host, all)
        this.lastHost = host
        return connection
      } catch (error) {
        if (error instanceof ConnectionSettingsError) throw new NoServer('NO_SERVER', error.message)
        code ||= codeOf(error)
        const failure = describeConnectFailure(error, { host, maxConnect: all.connect, trust: this.trustOf(host) })
        failures.push(`${nameHost(host)} ${failure}`)
      }
    }
    throw new NoServer(code, `no server of storage.url can be used: ${failures.join('; ')}`)
  }

  private trustOf({ tls }: HostSettings): string {
    if (tls === false || tls.ca === undefined) return ''
    return this.settings.source.storage.caFile === '' ? 'sslrootcert in storage.url' : 'storage.ca_file'
  }

  private hostsInOrder(): readonly HostSettings[] {
    const { lastHost } = this
    const { hosts } = this.settings
    return lastHost === undefined ? hosts : [lastHost, ...hosts.filter((host) => host !== lastHost)]
  }

  private async open(host: HostSettings, limits: ConnectionLimits): Promise<PipelinedConnection> {
    const client = await this.dial(host, host.tls, limits).catch((error: unknown) => {
      if (host.isTlsOptional && errorMessageOf(error) === NO_TLS) return this.dial(host, false, limits)
      throw error
    })
    const connection = new PipelinedConnection(client, { maxSilence: limits.silence, maxStatements: limits.statements })
    const limit = setTimeout(() => connection.destroy(TIMEOUT), limits.connect)
    try {
      await prepareSession(connection, this.settings.schema, limits)
      return connection
    } catch (error) {
      connection.destroy('it is not used')
      throw error
    } finally {
      clearTimeout(limit)
    }
  }

  private async dial(host: HostSettings, tls: HostSettings['tls'], limits: ConnectionLimits): Promise<Client> {
    const { user, database, findPassword } = this.settings
    const client = new Client({
      host: host.host,
      port: host.port,
      user,
      database,
      password: () => findPassword(host),
      ssl: tls,
      keepAlive: true,
      connectionTimeoutMillis: limits.connect,
    })
    client.on('error', () => undefined)
    try {
      return await client.connect()
    } catch (error) {
      client.connection.stream.destroy()
      throw error
    }
  }
}

/** @throws NoWriter if the server takes no writes */
async function prepareSession(
  connection: PipelinedConnection,
  schema: string,
  { statement, lock, idleInTransaction, isReader }: ConnectionLimits,
): Promise<void> {
  const values = {
    search_path: `"${schema}"`,
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransaction,
    idle_session_timeout: 0,
    timezone: 'UTC',
    bytea_output: 'hex',
    default_transaction_isolation: isReader ? 'repeatable read' : 'read committed',
    default_transaction_read_only: isReader ? 'on' : 'off',
    application_name: 'posthorn',
    // A plan that was made while a table was empty would walk through it when it has grown.
    enable_seqscan: 'off',
    // A walk through a table, for lack of another way, counts as very expensive then, and would be compiled each time.
    jit: 'off',
    // Reads are short, and the start of a worker is not.
    max_parallel_workers_per_gather: 0,
  }
  const [state] = await connection.run([
    {
      sql: `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') as closed`,
      parameters: [],
    },
    ...Object.entries(values).map((pair) => ({ sql: 'select set_config($1, $2, false)', parameters: pair })),
  ])
  const [{ standby, closed } = {}] = state?.rows ?? []
  if (standby === 1) throw new NoWriter('is a standby, which takes no writes')
  if (closed === 'on') throw new NoWriter('is read-only (default_transaction_read_only)')
}

export function nameHost({ host, port }: HostSettings): string {
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function codeOf(error: unknown): string {
  return errorCodeOf(error) || (isTimeout(error) ? 'ETIMEDOUT' : 'NO_SERVER')
}
