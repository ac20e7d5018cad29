/**
 * Loads code when a page needs it for the first time. After an upgrade of the service the files have other names,
 * and those that an open tab asks for are gone. Then the user has to load the whole page again. The same holds after an
 * outage of the network, because browsers do not ask again for a file of code that they did not get.
 */
import { ApiError, toNetworkError } from './api-error.ts'

/** The code of an ApiError after which the page must be loaded again. */
export const OUTDATED = 'outdated'

/** Rejects with an ApiError. */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load()
  } catch {
    if (!(await isServerReachable())) throw toNetworkError()
    const message =
      'Posthorn has been updated since this page was opened, or the network was away. Load the page again.'
    throw new ApiError(message, { status: 0, code: OUTDATED })
  }
}

export function isServerReachable(): Promise<boolean> {
  return fetch('/ui/', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )
}
