/**
 * How many connections there may be, in all and from one address.
 *
 * Every `enter` that was answered `welcome` is followed by one `leave`.
 */
export interface ConnectionLimitSettings {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
}

export type Entry = 'welcome' | 'full' | 'too-many-from-there'

export interface ConnectionLimit {
  enter(client: string): Entry
  leave(client: string): void
  open(): number
}

export function connectionLimit({
  maxConnections,
  maxConnectionsPerAddress,
}: ConnectionLimitSettings): ConnectionLimit {
  const perAddress = new Map<string, number>()
  let open = 0

  return {
    enter(client) {
      const already = perAddress.get(client) ?? 0
      if (already >= maxConnectionsPerAddress) return 'too-many-from-there'
      if (open >= maxConnections) return 'full'
      perAddress.set(client, already + 1)
      open += 1
      return 'welcome'
    },
    leave(client) {
      const left = (perAddress.get(client) ?? 0) - 1
      if (left > 0) perAddress.set(client, left)
      else perAddress.delete(client)
      open -= 1
    },
    open: () => open,
  }
}
