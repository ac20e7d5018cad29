/**
 * `reload`: has the running daemon read its configuration again, waits until it has done so, and prints what is in force
 * now and what needs a restart.
 *
 * The signal goes to the process that holds the lock of the data folder and wrote the report: never to `restore`, which
 * takes the lock too.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Problem } from '../../../base/config/problems.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords } from '../command/command.js'
import {
  holdsLock,
  type ReloadOutcome,
  readMonotonicMicroseconds,
  readReloadReport,
  SETTINGS_KEPT,
} from '../command/reload-report.js'

/** Milliseconds. Certificates are read in this time, and a reload under way comes first. */
const MAX_WAIT = 15_000
const POLL_INTERVAL = 20

export async function reload({ words, config }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  return showOutcome(await reloadDaemon(config.service.data_dir))
}

async function reloadDaemon(folder: string): Promise<ReloadOutcome> {
  const pid = findDaemon(folder)
  const asked = readMonotonicMicroseconds()
  process.kill(pid, 'SIGHUP')
  for (let waited = 0; waited < MAX_WAIT; waited += POLL_INTERVAL) {
    const report = readReloadReport(folder)
    // One that began earlier may not have seen the newest configuration.
    if (report?.pid === pid && report.last !== null && report.last.began >= asked) return report.last
    if (!isDataFolderHeld(folder)) throw new CommandFailed('the daemon ended during the reload')
    await pause(POLL_INTERVAL)
  }
  throw new CommandFailed(`the daemon (process ${pid}) has not reloaded within ${MAX_WAIT / 1_000} s: see its log`)
}

function findDaemon(folder: string): number {
  if (!isDataFolderHeld(folder)) throw new CommandFailed(`no daemon uses the data folder ${folder}`)
  const pid = readReloadReport(folder)?.pid
  if (pid === undefined || holdsLock(join(folder, 'daemon.lock'), pid) === false) {
    throw new CommandFailed(`the process that uses the data folder ${folder} is not a daemon that is ready`)
  }
  return pid
}

function showOutcome({ ok, applied, pending, problems }: ReloadOutcome): Answer {
  const json = { ok, applied, pending, problems }
  if (!ok)
    return { json, lines: ['not reloaded:', ...indent(problems.map(formatProblem)), SETTINGS_KEPT], failed: true }
  const unchanged = pending.length === 0 ? 'reloaded: no setting has changed' : 'reloaded: no change is in force yet'
  const inForce = applied.length === 0 ? [unchanged] : ['reloaded, in force now:', ...indent(applied)]
  return {
    json,
    lines: [...inForce, ...(pending.length === 0 ? [] : ['these need a restart:', ...indent(pending)])],
  }
}

function formatProblem({ key, message }: Problem): string {
  return key === '' ? message : `${key}: ${message}`
}

function indent(names: readonly string[]): readonly string[] {
  return names.map((name) => `  ${name}`)
}
