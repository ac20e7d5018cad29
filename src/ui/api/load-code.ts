/**
 * Loads code when a page needs it for the first time. After an upgrade of the service the files have other names,
 * and those that an open tab asks for are gone. Then the user has to load the whole page again.
 */
import { ApiError, toNetworkError } from './api-error.ts'

/** The code of an ApiError after which the page must be loaded again. */
export const OUTDATED = 'outdated'

/** Rejects with an ApiError. */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load()
  } catch {
    const isReachable = await fetch('/ui/', { method: 'HEAD', cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!isReachable) throw toNetworkError()
    throw new ApiError('Posthorn has been updated since this page was opened. Load it again.', {
      status: 0,
      code: OUTDATED,
    })
  }
}
