// The environment that the systemd unit gives the daemon, so that measurements run it as an operator does.
import { readFileSync } from 'node:fs'

const unit = new URL('../../systemd/posthorn.service', import.meta.url)

/** Ours, with the variables of the unit. */
export function environmentOfUnit() {
  const lines = readFileSync(unit, 'utf8').match(/(?<=^Environment=).+$/gm) ?? []
  const variables = lines.flatMap((line) => line.split(' ')).map((word) => word.match(/^(\w+)=(.*)$/).slice(1))
  return { ...process.env, ...Object.fromEntries(variables) }
}
