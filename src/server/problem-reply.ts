import type { FastifyReply } from 'fastify'
import { isStreamsError } from '../errors.ts'
import type { HttpSubject } from './instance.ts'
import { problemContentType, problemOf, problemText, retryAfterSeconds } from './problem.ts'

/** What is needed of a reply, whatever the schemas of its route. */
type Reply = Pick<FastifyReply, 'code' | 'header' | 'send'>

/** Answers with the error as a problem document; `members` stand beside those of all problems. */
export function replyProblem(
  subject: HttpSubject,
  reply: Reply,
  error: unknown,
  members: Readonly<Record<string, unknown>> = {},
): FastifyReply {
  if (!isStreamsError(error)) subject.onFault(error)
  const problem = problemOf(error)
  if (problem.status === 503 || problem.status === 429)
    reply.header('retry-after', String(retryAfterSeconds))
  return reply
    .code(problem.status)
    .header('content-type', problemContentType)
    .send(problemText(problem, members))
}
