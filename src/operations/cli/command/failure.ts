/** Prints an error on standard error: one line if the operator can fix it, the entire stack if it is a bug. */
import { Refusal } from '../../../base/mail/refusal.js'
import { errorCodeOf } from '../../../base/platform/errors.js'
import { DataFolderHeld } from '../../../base/storage/db/data-lock.js'
import {
  DatabaseTaken,
  DevelopmentDatabase,
  EarlierDatabase,
  NewerDatabase,
  OtherVersions,
  UnfinishedCopy,
} from '../../../base/storage/db/schema-errors.js'
import { LostBytes, StorageFault } from '../../../base/storage/db/write.js'
import { ConnectionSettingsError } from '../../../base/storage/postgres/connection-url.js'
import { CommandFailed, UsageError } from './command.js'
import { adviseUser, currentUser, startedAsRoot } from './process-user.js'

const fixableErrors = [
  ...[Refusal, CommandFailed, DataFolderHeld, LostBytes, ConnectionSettingsError],
  ...[DatabaseTaken, DevelopmentDatabase, EarlierDatabase, NewerDatabase, OtherVersions, UnfinishedCopy],
]

interface Failure {
  readonly status: 1 | 2
  readonly text: string
}

/** `command` is the name of the command that was called, or null if the line names none. */
export function failureOf(error: unknown, command: string | null = null): Failure {
  if (error instanceof UsageError) {
    const hint =
      command === null
        ? '"posthorn help" lists the commands, "posthorn help COMMAND" the options of one'
        : `"posthorn help ${command}" shows its usage and its options`
    return { status: 2, text: `${error.message}\n${hint}` }
  }
  if (!(error instanceof Error)) return { status: 1, text: String(error) }
  if (fixableErrors.some((kind) => error instanceof kind)) return { status: 1, text: error.message }
  if (error instanceof StorageFault) return { status: 1, text: describeStorageFault(error) }
  return { status: 1, text: describeSystemFault(error) ?? error.stack ?? error.message }
}

/**
 * The lines of a failure. In the journal each begins with the priority of an error, so that `journalctl -p err` shows why
 * the daemon did not start. `journal` is the value of JOURNAL_STREAM.
 */
export async function formatFailure(text: string, journal: string | undefined): Promise<string> {
  const lines = `posthorn: ${text}\n`
  if (journal === undefined) return lines
  const { isJournalStream } = await import('../../../base/platform/log.js')
  return isJournalStream(journal, 2) ? lines.replaceAll(/^(?=.)/gm, '<3>') : lines
}

const fixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: stop it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/** If rights are missing, SQLite's message names neither the file nor the user. */
const rightsMissing = /^SQLITE_(?:CANTOPEN|READONLY|PERM)/

function describeStorageFault({ message, code }: StorageFault): string {
  const text = `the database: ${message} (${code})`
  return rightsMissing.test(code) ? `${text}, as the user ${currentUser()}: "posthorn check" says more` : text
}

/** A command that was started as root works as the daemon's user, so the text names the user without rights. */
function describeMissingRights(syscall: string): string {
  const isPort = syscall === 'listen' || syscall === 'bind'
  if (startedAsRoot && !isPort) {
    return `this command runs as the user ${currentUser()}, which has no right to it: use a folder of that user`
  }
  const cure = isPort ? 'a port below 1024 needs more rights' : adviseUser()
  return `not permitted for the user ${currentUser()}: ${cure}`
}

/** A failed system call, with its usual fix. */
function describeSystemFault(error: Error): string | null {
  const code = errorCodeOf(error)
  if (code === '' || !('syscall' in error) || typeof error.syscall !== 'string') return null
  const fix = code === 'EACCES' ? describeMissingRights(error.syscall) : fixes[code]
  return fix === undefined ? error.message : `${error.message}: ${fix}`
}
