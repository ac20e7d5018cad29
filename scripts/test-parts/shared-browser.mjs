/** One browser for all test files of pages: the start of Chromium costs more than many a page does. */

/** Files that open pages. Those that are not among them start a browser of their own. */
const usesBrowser = /^(?:ui\/|journeys\/browser\.)/

/** Resolves to what the test files find in their environment, and `close`. Without Chromium they are skipped by name. */
export async function openSharedBrowser(files) {
  if (!files.some((file) => usesBrowser.test(file))) return { environment: {}, close: () => {} }
  const { serveBrowser } = await import('../../dist/test/helpers/programs/chromium.js')
  const server = await serveBrowser().catch(() => null)
  if (server === null) return { environment: {}, close: () => {} }
  return { environment: { POSTHORN_TEST_BROWSER: server.wsEndpoint() }, close: () => server.close() }
}
