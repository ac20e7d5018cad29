/** A folder with a configuration, and the command line run in it: in this process, or as a program of its own. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { openDatabase } from '../../../src/base/storage/open.js'
import { type CommandResult, runCommand, writeConfiguration } from '../daemon/test-daemon.js'
import { temporaryFolder } from '../database/database.js'
import { plainNode } from '../programs/plain-node.js'

export type Run = (...argv: readonly string[]) => Promise<CommandResult>

/** A port of loopback at which nothing answers, so that no question goes to the servers of the system. */
const NO_DNS = '127.0.0.1:1'

interface Installation {
  readonly folder: string
  readonly data: string
  readonly config: string
  readonly run: Run
}

export function createInstallation(t: Test): Installation {
  const folder = temporaryFolder(t)
  const { file } = writeConfiguration(folder, { settings: { dns: { servers: [NO_DNS] } } })
  const run: Run = (...argv) => runCommand([...argv, '--config', file])
  return { folder, data: join(folder, 'data'), config: file, run }
}

/** What the audit log holds, oldest first: the action, its target, its details. */
export async function readAuditLog(
  t: Test,
  { data }: Installation,
): Promise<readonly (readonly [action: string, target: string, details: unknown])[]> {
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const rows = await database.read<Record<'actor' | 'action' | 'target' | 'details', string>>(
    'select * from audit_log order by seq',
    [],
  )
  t.ok(rows.every(({ actor }) => actor === 'operator'))
  return rows.map(({ action, target, details }) => [action, target, JSON.parse(details)])
}

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export const timestampPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export interface SetupOutput {
  readonly workspace_id: string
  readonly user_id: string
  readonly api_key: string
  readonly key_prefix: string
}

export const setUpWorkspace = async (run: Run): Promise<SetupOutput> =>
  (await run('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--json')).json() as SetupOutput

export const programFile = fileURLToPath(new URL('../../../src/main.js', import.meta.url))

export const runProgram = (...argv: readonly string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync('env', plainNode(programFile, ...argv), { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } })
