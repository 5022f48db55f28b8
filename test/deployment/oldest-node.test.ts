import { describe } from 'vitest';
import { testDoors } from '../support/doors.ts';
import { oldestNode } from '../support/oldest-node.ts';

describe('with the oldest Node that is admitted', () => testDoors(oldestNode));
