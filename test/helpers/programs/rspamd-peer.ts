/**
 * Debian's rspamd as a child process: one worker on a free port of loopback, its files in a folder of the test, no
 * Redis, and DNS without answers.
 *
 * Known limit: another program may bind the port between the search for it and the start.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../database/database.js'
import { freePort } from '../free-port.js'
import { waitUntil } from '../wait-until.js'

interface RspamdPeer {
  /** The port of its worker. */
  readonly url: string
  /** Ends it now; else it ends with the test. */
  readonly end: () => Promise<void>
}

export async function rspamdPeer(t: Test): Promise<RspamdPeer> {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const config = join(folder, 'rspamd.conf')
  // The list that it ships takes up to half a minute to compile, each time anew in a new folder.
  writeFileSync(join(folder, 'tld.dat'), 'test\ncom\n')
  writeFileSync(config, configuration(folder, port))
  // As root it refuses to run without a user to become, or without -i.
  const words = ['-f', '-i', '-c', config, `--var=DBDIR=${folder}`]
  // A process group of its own: an orderly end takes seconds, and no test waits for it.
  const child = spawn('rspamd', words, { stdio: 'ignore', detached: true })
  const ended = once(child, 'exit')
  const end = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL')
    }
    await ended
  }
  t.teardown(end)
  const url = `http://127.0.0.1:${port}`
  await waitUntil('rspamd answers', async () => {
    if (child.exitCode !== null) throw new Error(`rspamd ended with ${child.exitCode}`)
    return fetch(`${url}/ping`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return { url, end }
}

function configuration(folder: string, port: number): string {
  return `
    options {
      pidfile = "${folder}/rspamd.pid";
      tempdir = "${folder}";
      cache_file = "${folder}/symbols.cache";
      hs_cache_dir = "${folder}";
      url_tld = "${folder}/tld.dat";
      disable_hyperscan = true;
      filters = "regexp,chartable";
      dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }
    }
    logging { type = "console"; level = "error"; }
    actions { reject = 15; add_header = 6; }
    .include "$CONFDIR/groups.conf"
    .include "$CONFDIR/composites.conf"
    lua = "$RULESDIR/rspamd.lua"
    worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
  `
}
