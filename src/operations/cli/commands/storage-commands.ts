/** `storage copy`: moves the installation from SQLite to a server of PostgreSQL. */
import { dirname, resolve } from 'node:path'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { copyStorage, type TableReport } from '../../../base/storage/copy/copy-storage.js'
import { UnusableTarget } from '../../../base/storage/copy/copy-target.js'
import { DataFolderHeld, lockDataFolder } from '../../../base/storage/db/data-lock.js'
import { LostBytes } from '../../../base/storage/db/write.js'
import { checkServer } from '../../../base/storage/postgres/check-server.js'
import { connectionSettingsOf } from '../../../base/storage/postgres/configured-server.js'
import { NoServer } from '../../../base/storage/postgres/connect.js'
import type { ConnectionSettings } from '../../../base/storage/postgres/connection-settings.js'
import { ConnectionSettingsError, hidePassword } from '../../../base/storage/postgres/connection-url.js'
import { ConnectionLost, ServerError } from '../../../base/storage/postgres/server-errors.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredOption,
  textOption,
} from '../command/command.js'
import { formatTable } from '../command/table.js'
import { requireDatabase } from './backup-command.js'

export async function copy(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 0)
  const url = requiredOption(call.options, 'to')
  const file = requireDatabase(call.config)
  return withCopyErrors(async () => {
    const lock = lockDataFolder(dirname(file))
    try {
      const settings = readTarget(call, url)
      const { refusals, problems } = await checkServer(settings)
      if (refusals.length > 0) throw new CommandFailed(`--to: ${refusals.join('; ')}`)
      const tables = await copyStorage({ file, settings, onProgress: call.showProgress })
      return { ...describeCopy(tables, settings), warnings: problems }
    } finally {
      lock.release()
    }
  })
}

/** What is not given as an option is as the configuration has it, where it may stand before `storage.url` is set. */
function readTarget({ options, config: { storage } }: Call, url: string): ConnectionSettings {
  const pathOption = (name: string): string | undefined => {
    const path = textOption(options, name)
    return path === undefined ? undefined : resolve(path)
  }
  return connectionSettingsOf({
    ...storage,
    url,
    password_file: pathOption('password-file') ?? storage.password_file,
    ca_file: pathOption('ca-file') ?? storage.ca_file,
    schema: textOption(options, 'schema') ?? storage.schema,
  })
}

const WAY_BACK =
  'to go back, remove storage.url and start the daemon: the SQLite database is as it was, without what came in since, and sends what was queued'

/** The lines of `[storage]` with which the daemon finds the copy. */
function listSettingsOfCopy({ source: { storage } }: ConnectionSettings): string {
  const { url, passwordFile, caFile, schema } = storage
  const named = { url: hidePassword(url), password_file: passwordFile, ca_file: caFile, schema }
  return Object.entries(named)
    .filter(([key, value]) => value !== '' && !(key === 'schema' && value === 'posthorn'))
    .map(([key, value]) => `storage.${key} = ${JSON.stringify(value)}`)
    .join(', ')
}

function describeCopy(tables: readonly TableReport[], settings: ConnectionSettings): Answer {
  const { schema } = settings
  const failed = tables.some(({ isSame }) => !isSame)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const head = ['TABLE', 'ROWS', 'STORED', 'SUM', 'RESULT']
  const lines = tables
    .filter((table) => table.rows > 0 || !table.isSame)
    .map((table) => [
      ...[table.table, String(table.rows), String(table.stored), table.sum.slice(0, 16)],
      table.isSame ? 'same' : `differs: ${table.storedSum.slice(0, 16)}`,
    ])
  const result = failed
    ? ['the copy differs, and the daemon refuses it: run the command again']
    : [
        `copied ${rows} rows of ${tables.length} tables to the schema ${schema}, and compared them`,
        `next, set ${listSettingsOfCopy(settings)} in the configuration, run "posthorn check", and start the daemon`,
        WAY_BACK,
      ]
  return {
    json: {
      ok: !failed,
      schema,
      rows,
      tables: tables.map((table) => ({
        ...{ table: table.table, rows: table.rows, stored: table.stored },
        ...{ sum: table.sum, stored_sum: table.storedSum, same: table.isSame },
      })),
    },
    lines: [...formatTable(head, lines), ...result],
    failed,
  }
}

const CURE_OF_LOSS =
  'so the copy is unfinished: restore a backup from before the damage, or run the command again when the message is older than retention.messages'

/** A fault that the operator can fix has its own text; any other error is a bug. */
async function withCopyErrors(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DataFolderHeld || error instanceof UnusableTarget) throw new CommandFailed(error.message)
    if (error instanceof ConnectionSettingsError || error instanceof NoServer) {
      throw new CommandFailed(nameOptions(errorMessageOf(error)))
    }
    if (error instanceof LostBytes) throw new CommandFailed(`${error.message}; ${CURE_OF_LOSS}`)
    if (error instanceof ConnectionLost || error instanceof ServerError) {
      throw new CommandFailed(`${error.message}; the copy is unfinished: run the command again, which begins anew`)
    }
    throw error
  }
}

/** The settings have the names of the configuration there. */
function nameOptions(message: string): string {
  return message
    .replaceAll('storage.url', '--to')
    .replaceAll(/storage\.(password_file|ca_file|schema)/g, (name) => name.replace('storage.', '--').replace('_', '-'))
}
