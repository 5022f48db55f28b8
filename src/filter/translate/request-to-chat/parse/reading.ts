import type { Reading } from '../../shared/dropped.ts';
import type { ItemType } from './input-builder.ts';
import type { ToolType } from './tools-builder.ts';

/** The types of items and tools that a request may have, each with the function that reads it. */
export interface KnownTypes {
  readonly items: ReadonlyMap<string, ItemType>;
  /** The `items` that belong to tools which OpenAI's servers run. */
  readonly hostedItems: ReadonlyMap<string, ItemType>;
  readonly tools: ReadonlyMap<string, ToolType>;
}

/** The arguments of the functions that read a whole request: they are told which types there are, and import none of them. */
export interface RequestReading extends Reading {
  readonly known: KnownTypes;
}
