/** Explains that the daemon cannot open a listener: names the setting, and the command that names the other program. */
import type { Config } from '../../../base/config/complete.js'
import { formatListenerAddress, listListeners } from '../../../base/config/listeners.js'
import { errorCodeOf } from '../../../base/platform/errors.js'
import { CommandFailed } from './command.js'

/** Returns the error itself if it is about no listener whose port another program holds. */
export function explainListenerFault(error: unknown, config: Config): unknown {
  if (errorCodeOf(error) !== 'EADDRINUSE' || !(error instanceof Error)) return error
  if (!('port' in error && 'address' in error && 'syscall' in error)) return error
  const [address, port] = [String(error.address), Number(error.port)]
  const key = findSetting(config, address, port)
  if (key === null) return error
  const place = formatListenerAddress({ host: address, port })
  // Only a socket for UDP is bound: that of the service zone.
  const options = error.syscall === 'bind' ? '-lunp' : '-ltnp'
  return new CommandFailed(
    `${key}: another program listens at ${place}; "ss ${options} sport = :${port}" names it; stop it, or change ${key}`,
  )
}

/** The setting with this address, or with a host name that leads to it. Without the place in the list. */
function findSetting(config: Config, address: string, port: number): string | null {
  const samePort = listListeners(config).filter((one) => 'port' in one.address && one.address.port === port)
  const found = samePort.find((one) => 'host' in one.address && one.address.host === address) ?? samePort[0]
  return found?.key.replace(/\[\d+\]$/, '') ?? null
}
