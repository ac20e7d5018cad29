/**
 * How many connections there may be, in all and from one address.
 *
 * Every `enter` that was answered `welcome` is followed by one `leave`. A client that is null
 * counts in all alone: many people may be behind it.
 */
export interface ConnectionLimitSettings {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
}

export type Entry = 'welcome' | 'full' | 'too-many-from-there'

export interface ConnectionLimit {
  enter(client: string | null): Entry
  leave(client: string | null): void
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
      const already = client === null ? 0 : (perAddress.get(client) ?? 0)
      if (already >= maxConnectionsPerAddress) return 'too-many-from-there'
      if (open >= maxConnections) return 'full'
      if (client !== null) perAddress.set(client, already + 1)
      open += 1
      return 'welcome'
    },
    leave(client) {
      open -= 1
      if (client === null) return
      const left = (perAddress.get(client) ?? 0) - 1
      if (left > 0) perAddress.set(client, left)
      else perAddress.delete(client)
    },
    open: () => open,
  }
}
