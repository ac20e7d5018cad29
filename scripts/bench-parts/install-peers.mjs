// Installs the peers from Debian without starting any of their services.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

const policy = '/usr/sbin/policy-rc.d'
const packages = ['postfix', 'opendkim', 'opendkim-tools', 'rspamd', 'knot']

/** Debian's way to keep a package from starting its service is a policy-rc.d that says no. */
export function installPeers() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...words) => execFileSync('apt-get', words, { stdio: ['ignore', 'ignore', 'inherit'], env })
  const made = !existsSync(policy)
  if (made) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    apt('update', '-q')
    apt('install', '-yq', '--no-install-recommends', ...packages)
  } finally {
    if (made) rmSync(policy)
  }
}
