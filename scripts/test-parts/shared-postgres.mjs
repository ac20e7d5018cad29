/** One server of PostgreSQL for all test files, where they run on that engine: each test has a database of its own there. */
import { join } from 'node:path'

/** `close` ends it. */
export async function openSharedPostgres(engine, folder) {
  if (engine !== 'postgres') return { environment: {}, close: async () => undefined }
  const { PostgresServer } = await import('../../dist/test/helpers/programs/postgres.js')
  const { makeTemplate, TEMPLATE } = await import('../../dist/test/helpers/database/postgres-database.js')
  const server = await PostgresServer.start({ folder: join(folder, 'postgres') })
  await makeTemplate(server.urlOf(), server.urlOf(TEMPLATE))
  return { environment: { POSTHORN_TEST_POSTGRES: server.urlOf('') }, close: () => server.stop('immediate') }
}
